// The button for what is done with the canvas as a whole and less often: files, pictures, the overview.
import type { ReactElement } from "react";
import { openMenu } from "../behaviours/menu";
import { Icon } from "./icons";

export function MoreMenu(): ReactElement {
  return (
    <button
      type="button"
      className="plain"
      title="Import, export and more"
      aria-haspopup="menu"
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        openMenu({ kind: "file", nodes: [], edges: [], at: { x: box.left, y: box.bottom + 4 }, place: { x: 0, y: 0 } });
      }}
    >
      <Icon name="more" />
      <span className="hidden">Import, export and more</span>
    </button>
  );
}
