export type { FileFunctions } from './functions/functions.ts'
export { parseLegacyJobFile } from './legacy-job-file.ts'
export {
  type JobFile,
  type JobFileRequest,
  type JobFileResult,
  parseJobFile,
  parseVolumeFile,
} from './parse-job-file.ts'
export {
  formatLocatedProblem,
  formatProblems,
  type LocatedProblem,
  locatePaths,
  locateProblems,
} from './diagnostics.ts'
export type { SourceMap } from './source-map.ts'
export type { SourceFile } from './source.ts'
