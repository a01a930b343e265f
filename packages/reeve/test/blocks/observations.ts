import { FILE_OBSERVATIONS } from './file-observations.ts'
import { NODE_OBSERVATIONS } from './node-observations.ts'
import type { Observation } from './observation.ts'
import { TASK_OBSERVATIONS } from './task-observations.ts'

export const OBSERVATIONS: readonly Observation[] = [
  ...TASK_OBSERVATIONS,
  ...FILE_OBSERVATIONS,
  ...NODE_OBSERVATIONS,
]
