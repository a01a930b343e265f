export { EXECUTION_DEFAULTS, type ExecutionSettings } from './phase-job.ts'
export { RunController, type RunControllerOptions } from './run-controller.ts'
export { toolAttribute, TOOLS, VERSION_FIELD } from './tools.ts'
