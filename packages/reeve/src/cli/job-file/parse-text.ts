import { nodeCrypto } from '@reeve/kit/node'
import {
  parseJobFile,
  parseLegacyJobFile,
  type JobFileRequest,
  type JobFileResult,
} from '../../jobspec/index.ts'
import { formatDiagnostics, type Diagnostic } from '@reeve/hcl'

interface TextRequest extends Omit<JobFileRequest, 'random' | 'crypto'> {
  /** Parse the text as HCL 1, which has no variables. */
  readonly isLegacy: boolean
}

/** Parses a job file with the local files and environment. */
export function parseText({ isLegacy, ...request }: TextRequest): JobFileResult {
  if (isLegacy) return parseLegacyJobFile(request)
  return parseJobFile({ ...request, random: { next: () => Math.random() }, crypto: nodeCrypto })
}

/** Formats diagnostics with their source lines. */
export function formatProblems(
  texts: ReadonlyMap<string, string>,
  problems: readonly Diagnostic[],
): string {
  return formatDiagnostics(texts, problems)
}
