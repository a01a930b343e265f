export { EXECUTION_DEFAULTS, toolAttribute, type ExecutionSettings } from './phase-job.ts'
export { RunController, type RunControllerOptions } from './run-controller.ts'
