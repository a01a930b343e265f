import { writeFile } from 'node:fs/promises'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { formatNative } from '@reeve/native-policy'
import { formatRego } from '@reeve/rego'
import { filesBelow, isDirectory, readText } from './files.ts'
import { formatProblem, fromNative, fromRego, type ToolProblem } from './problem.ts'
import { TOOL_CODES, type ToolTerminal } from './terminal.ts'

export interface FormatRequest {
  readonly paths: readonly string[]
  /** Says which files are not formatted, and leaves them. */
  readonly checks: boolean
  readonly terminal: ToolTerminal
}

/** `reeve policy fmt`: policies of both languages, each by the suffix of its file. */
export async function formatPolicies(request: FormatRequest): Promise<number> {
  const { checks, terminal } = request
  const problems: ToolProblem[] = []
  let changed = 0
  for (const file of await filesOf(request.paths)) {
    const text = await readText(file)
    if (!text.ok) {
      problems.push(text.error)
      continue
    }
    const formatted = formattedText(file, text.value)
    if (!formatted.ok) problems.push(formatted.error)
    else if (formatted.value !== text.value) {
      changed++
      terminal.out(`${file}\n`)
      if (!checks) await writeFile(file, formatted.value)
    }
  }
  for (const problem of problems) terminal.err(`${formatProblem(problem)}\n`)
  return problems.length > 0 || (checks && changed > 0) ? TOOL_CODES.fail : TOOL_CODES.pass
}

const NATIVE_SUFFIX = '.native'
const REGO_SUFFIX = '.rego'

function formattedText(file: string, text: string): Result<string, ToolProblem> {
  if (!file.endsWith(REGO_SUFFIX)) {
    const native = formatNative(file, text)
    return native.ok ? native : err(fromNative(native.error))
  }
  const rego = formatRego(file, text)
  return rego.ok ? ok(rego.value) : err(fromRego(rego.error, new Map([[file, text]])))
}

async function filesOf(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  for (const path of paths)
    if (!(await isDirectory(path))) files.push(path)
    else
      for (const suffix of [NATIVE_SUFFIX, REGO_SUFFIX])
        files.push(...(await filesBelow(path, suffix)))
  return files
}
