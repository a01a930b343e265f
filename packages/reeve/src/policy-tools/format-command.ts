import { writeFile } from 'node:fs/promises'
import { formatNative } from '../lang/native/index.ts'
import { isDirectory, namesIn, readText } from './files.ts'
import { formatProblem, fromNative, type ToolProblem } from './problem.ts'
import { TOOL_CODES, type ToolTerminal } from './terminal.ts'
import { join } from 'node:path'

export interface FormatRequest {
  readonly paths: readonly string[]
  /** Says which files are not formatted, and leaves them. */
  readonly checks: boolean
  readonly terminal: ToolTerminal
}

/** `reeve policy fmt`: native policies only. */
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
    const formatted = formatNative(file, text.value)
    if (!formatted.ok) problems.push(fromNative(formatted.error))
    else if (formatted.value !== text.value) {
      changed++
      terminal.out(`${file}\n`)
      if (!checks) await writeFile(file, formatted.value)
    }
  }
  for (const problem of problems) terminal.err(`${formatProblem(problem)}\n`)
  return problems.length > 0 || (checks && changed > 0) ? TOOL_CODES.fail : TOOL_CODES.pass
}

async function filesOf(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  for (const path of paths)
    if (!(await isDirectory(path))) files.push(path)
    else
      for (const name of await namesIn(path))
        if (name.endsWith('.native')) files.push(join(path, name))
  return files
}
