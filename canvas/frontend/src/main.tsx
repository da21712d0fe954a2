// Starts the editor in the page of a workflow, or the canvas in the page of a run; what it needs to know is in the attributes of its element.
import { lazy, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import "@xyflow/react/dist/base.css";
import "./editor.css";
import "./view/narrow.css";
import { rights } from "./run";
import { App, Boundary } from "./view/App";

const RunView = lazy(() => import("./view/run/RunView"));

const place = document.getElementById("canvas");
if (place) {
  const { workflow = "", mayEdit = "", mayRun = "", execution = "", version = "" } = place.dataset;
  rights.mayOperate = place.dataset.mayOperate === "yes";
  rights.mayApprove = place.dataset.mayApprove === "yes";
  createRoot(place).render(
    <StrictMode>
      <Boundary>
        {execution ? (
          <Suspense fallback={<p className="canvas-message quiet">Opening the canvas…</p>}>
            <RunView execution={execution} workflow={workflow} version={Number(version)} />
          </Suspense>
        ) : (
          <App workflow={workflow} mayEdit={mayEdit === "yes"} mayRun={mayRun === "yes"} />
        )}
      </Boundary>
    </StrictMode>,
  );
}
