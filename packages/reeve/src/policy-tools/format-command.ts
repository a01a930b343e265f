import { writeFile } from 'node:fs/promises'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { formatNative } from '@reeve/native-policy'
import { formatRego } from '@reeve/rego'
import { findFiles, isDirectory, readText } from './files.ts'
import {
  formatProblem,
  fromNative,
  fromRego,
  POLICY_EXIT_CODES,
  type ToolDiagnostic,
  type ToolTerminal,
} from './report.ts'

export interface FormatRequest {
  readonly paths: readonly string[]
  /** Lists unformatted files without changing them. */
  readonly isCheckOnly: boolean
  readonly terminal: ToolTerminal
}

/** `reeve policy fmt`: formats policies of both languages, by file suffix. */
export async function formatPolicies(request: FormatRequest): Promise<number> {
  const { isCheckOnly, terminal } = request
  const problems: ToolDiagnostic[] = []
  let changed = 0
  for (const file of await listFiles(request.paths)) {
    const text = await readText(file)
    if (!text.ok) {
      problems.push(text.error)
      continue
    }
    const formatted = formatText(file, text.value)
    if (!formatted.ok) problems.push(formatted.error)
    else if (formatted.value !== text.value) {
      changed++
      terminal.out(`${file}\n`)
      if (!isCheckOnly) await writeFile(file, formatted.value)
    }
  }
  for (const problem of problems) terminal.err(`${formatProblem(problem)}\n`)
  return problems.length > 0 || (isCheckOnly && changed > 0)
    ? POLICY_EXIT_CODES.fail
    : POLICY_EXIT_CODES.pass
}

const NATIVE_SUFFIX = '.native'
const REGO_SUFFIX = '.rego'

function formatText(file: string, text: string): Result<string, ToolDiagnostic> {
  if (!file.endsWith(REGO_SUFFIX)) {
    const native = formatNative(file, text)
    return native.ok ? native : err(fromNative(native.error))
  }
  const rego = formatRego(file, text)
  return rego.ok ? ok(rego.value) : err(fromRego(rego.error, new Map([[file, text]])))
}

async function listFiles(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  for (const path of paths)
    if (!(await isDirectory(path))) files.push(path)
    else
      for (const suffix of [NATIVE_SUFFIX, REGO_SUFFIX])
        files.push(...(await findFiles(path, suffix)))
  return files
}
