import { EXIT_CODES, type TextOutput } from '../cli/index.ts'
import { diskFiles, findConfigFiles } from './config/config-files.ts'
import { validateFiles } from './config/load-config.ts'
import { formatProblems, toJsonProblem } from './config/problem.ts'
import { readHostInfo } from './system.ts'

interface ValidateRequest {
  readonly paths: readonly string[]
  readonly isJson: boolean
  readonly terminal: TextOutput
}

/** `reeve config validate`: checks configuration files. */
export async function validateConfig({
  paths,
  isJson,
  terminal,
}: ValidateRequest): Promise<number> {
  const found = await findConfigFiles(paths, diskFiles)
  const { problems, gaps } = validateFiles(found, readHostInfo())
  const isValid = problems.length === 0
  const files = found.files.map(({ path }) => path)
  if (isJson) {
    const missing = gaps.map(({ message }) => message)
    const result = { valid: isValid, files, problems: problems.map(toJsonProblem), missing }
    terminal.out(`${JSON.stringify(result)}\n`)
  } else if (isValid) {
    terminal.out(`The configuration is valid (${formatCount(files.length, 'file')}).\n`)
    for (const { message } of gaps) terminal.out(`Not in it yet: ${message}\n`)
  } else {
    const texts = new Map(found.files.map(({ path, source }) => [path, source]))
    terminal.err(
      `${formatProblems(problems, texts)}\n\n${formatCount(problems.length, 'problem')}.\n`,
    )
  }
  return isValid ? EXIT_CODES.ok : EXIT_CODES.failed
}

function formatCount(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
