import { EXIT_CODES, type Terminal } from '../cli/index.ts'
import { findConfigFiles } from './config/config-files.ts'
import { diskFiles } from './config/disk-files.ts'
import { validateFiles } from './config/load-config.ts'
import { formatProblems, toJsonProblem } from './config/problem.ts'
import { readHostFacts } from './host-facts.ts'

export interface ValidateRequest {
  readonly paths: readonly string[]
  readonly isJson: boolean
  readonly terminal: Terminal
}

/** `reeve config validate`. */
export async function validateConfig({
  paths,
  isJson,
  terminal,
}: ValidateRequest): Promise<number> {
  const found = await findConfigFiles(paths, diskFiles)
  const { problems, gaps } = validateFiles(found, readHostFacts())
  const isValid = problems.length === 0
  const files = found.files.map(({ path }) => path)
  if (isJson) {
    const missing = gaps.map(({ message }) => message)
    const answer = { valid: isValid, files, problems: problems.map(toJsonProblem), missing }
    terminal.out(`${JSON.stringify(answer)}\n`)
  } else if (isValid) {
    terminal.out(`The configuration is valid (${count(files.length, 'file')}).\n`)
    for (const { message } of gaps) terminal.out(`Not in it yet: ${message}\n`)
  } else {
    const texts = new Map(found.files.map(({ path, text }) => [path, text]))
    terminal.err(`${formatProblems(problems, texts)}\n\n${count(problems.length, 'problem')}.\n`)
  }
  return isValid ? EXIT_CODES.ok : EXIT_CODES.failed
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
