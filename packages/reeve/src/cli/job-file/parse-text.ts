import { nodeCrypto } from '@reeve/kit/node'
import {
  parseJobFile,
  parseLegacyJobFile,
  type JobFileRequest,
  type JobFileResult,
} from '../../jobspec/index.ts'
import { formatDiagnostics, type Diagnostic } from '@reeve/hcl'

interface TextRequest extends Omit<JobFileRequest, 'random' | 'crypto'> {
  /** The older syntax, which has no variables. */
  readonly isLegacy: boolean
}

/** A job file as the command line reads it: with the files and the environment of the person. */
export function parseText({ isLegacy, ...request }: TextRequest): JobFileResult {
  if (isLegacy) return parseLegacyJobFile(request)
  return parseJobFile({ ...request, random: { next: () => Math.random() }, crypto: nodeCrypto })
}

/** All problems, each with its line. */
export function describeProblems(
  texts: ReadonlyMap<string, string>,
  problems: readonly Diagnostic[],
): string {
  return formatDiagnostics(texts, problems)
}
