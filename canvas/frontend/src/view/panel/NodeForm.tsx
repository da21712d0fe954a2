// The settings of a node, made from the fields of its activity; keys that those do not name are shown as JSON.
import type { ReactElement } from "react";
import { fieldOf, readables } from "../../model/activities";
import { setNodeKey, withKey } from "../../model/changes";
import { type CanvasNode, configOf, dataOf, kindOf, stateTypeOf } from "../../model/document";
import { isObject, type Json, type JsonObject, textOr } from "../../model/json";
import { canvasNow, change, useEditor } from "../../store";
import { FixButton } from "../FixButton";
import { TextRow } from "../TextRow";
import { FieldRow } from "../values";
import { Inputs } from "./Inputs";
import { Limits } from "./Limits";
import { Marks } from "./Marks";
import { WorkflowLimits } from "./WorkflowLimits";

export function NodeForm({ node }: { node: CanvasNode }): ReactElement {
  const mayEdit = useEditor((state) => state.mayEdit);
  const activities = useEditor((state) => state.activities);
  const marks = useEditor((state) => state.nodeMarks.get(node.key)) ?? [];
  const kind = kindOf(node);
  const activity = activities.of(node);
  const fields = activities.inputsOf(node);
  const config = configOf(node);
  const known = new Set(fields.map((field) => field.name));
  const others = Object.keys(config).filter((name) => !known.has(name));
  const key = node.key;
  const isOdd = dataOf(node).config !== undefined && !isObject(dataOf(node).config);
  function set(name: string, value: Json | undefined): void {
    change(
      (canvas) => setNodeKey(canvas, key, "config", withKey(configOfKey(key), name, value)),
      `${key} config ${name}`,
    );
  }
  const parameterProblem = (name: string) => marks.find((problem) => problem.parameter === name)?.message ?? "";
  return (
    <div className="form">
      <Marks list={marks.filter((problem) => !problem.parameter || !known.has(problem.parameter))} />
      {marks
        .filter((problem) => problem.fix && known.has(problem.parameter))
        .map((problem) => (
          <FixButton key={problem.parameter} problem={problem} />
        ))}
      <TextRow
        label="Label"
        value={textOr(dataOf(node).label)}
        placeholder={node.key}
        disabled={!mayEdit}
        onChange={(text) => change((canvas) => setNodeKey(canvas, key, "label", text), `${key} label`)}
      />
      {activity && <p className="about lead-text">{activity.description}</p>}
      {isOdd && <p className="problem-text">The configuration is no object; see JSON.</p>}
      {kind === "start" && (
        <Inputs
          config={config}
          disabled={!mayEdit}
          onChange={(value) => change((canvas) => setNodeKey(canvas, key, "config", value), `${key} inputs`)}
        />
      )}
      {kind === "end" && <p className="about">What leads here ends the run. An end has no settings of its own.</p>}
      {kind === "activity" && !activity && !stateTypeOf(node) && (
        <p className="about">
          This server has no such activity, so its fields are not known. What is configured is kept and can be edited
          here and as JSON.
        </p>
      )}
      {fields.map((field) => (
        <FieldRow
          key={field.name}
          field={field}
          value={config[field.name]}
          disabled={!mayEdit}
          problem={parameterProblem(field.name)}
          sources={() => readables(canvasNow(), activities, key, field.type)}
          onChange={(value) => set(field.name, value)}
        />
      ))}
      {kind === "activity" && others.length > 0 && (
        <section>
          <h3>{known.size ? "Other keys" : "Configuration"}</h3>
          {others.map((name) => (
            <FieldRow
              key={name}
              field={fieldOf(name, "any")}
              value={config[name]}
              disabled={!mayEdit}
              problem=""
              sources={() => readables(canvasNow(), activities, key, "any")}
              onChange={(value) => set(name, value)}
            />
          ))}
        </section>
      )}
      {kind === "start" && <WorkflowLimits start={node} disabled={!mayEdit} />}
      {kind === "activity" && stateTypeOf(node) !== "Wait" && <Limits node={node} disabled={!mayEdit} />}
      {activity && activity.outputs.length > 0 && (
        <section>
          <h3>Gives</h3>
          <dl className="outputs">
            {activity.outputs.map((field) => (
              <div key={field.name}>
                <dt>
                  <code>{field.name}</code> <span className="quiet type">{field.type}</span>
                </dt>
                <dd className="quiet small">{field.description}</dd>
              </div>
            ))}
          </dl>
          {activity.notes && <p className="about">{activity.notes}</p>}
        </section>
      )}
    </div>
  );
}

function configOfKey(key: string): JsonObject {
  const node = canvasNow().nodes.find((one) => one.key === key);
  return node ? configOf(node) : {};
}
