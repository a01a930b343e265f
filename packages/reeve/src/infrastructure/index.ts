export { EXECUTION_DEFAULTS, type ExecutionSettings } from './phase-job.ts'
export { RunController, type RunControllerOptions } from './run-controller.ts'
export {
  toolAttribute,
  toolPathAttribute,
  TOOL_SOURCES,
  TOOLS,
  VERSION_FIELD,
  type ToolName,
  type ToolSource,
} from './tools.ts'
