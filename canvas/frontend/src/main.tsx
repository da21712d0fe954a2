// Starts the editor in the page of a workflow; what it needs to know is in the attributes of its element.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@xyflow/react/dist/base.css";
import "./editor.css";
import { App, Boundary } from "./view/App";

const place = document.getElementById("canvas");
if (place) {
  const { workflow = "", mayEdit = "", mayRun = "" } = place.dataset;
  createRoot(place).render(
    <StrictMode>
      <Boundary>
        <App workflow={workflow} mayEdit={mayEdit === "yes"} mayRun={mayRun === "yes"} />
      </Boundary>
    </StrictMode>,
  );
}
