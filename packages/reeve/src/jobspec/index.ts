export type { FileFunctions } from './functions/functions.ts'
export { parseLegacyJobFile } from './legacy-job-file.ts'
export { parseJobFile } from './parse-job-file.ts'
export type { JobFile, JobFileRequest, JobFileResult } from './parse-job-file.ts'
export { parseVolumeFile } from './parse-volume-file.ts'
export {
  formatLocatedProblem,
  formatProblems,
  type LocatedProblem,
  locatePaths,
  locateProblems,
} from './diagnostics.ts'
export type { SourceMap } from './source-map.ts'
export type { SourceFile } from './source.ts'
