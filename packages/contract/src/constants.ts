/** Constants for programs that must start fast: the other doors load the schemas of both APIs. */
export { TASK_ENVIRONMENT_PREFIX } from './v1/names.ts'
export { RUN_LOG_BYTES_MAX } from './v2/limits.ts'
