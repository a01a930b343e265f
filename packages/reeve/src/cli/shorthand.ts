import { COMMANDS } from './commands.ts'

/** Matches arguments that are job files: standard input, a path, or a known suffix. */
const JOB_FILE = /^-$|\/|\.(?:hcl|json|reeve)$/

/**
 * `reeve run web.hcl` is `reeve job run web.hcl`, although `run` is also the group of commands on
 * governance runs.
 */
export function expandRunShorthand(args: readonly string[]): readonly string[] {
  const [first, second = '', ...others] = args
  if (first !== 'run' || second === '') return args
  if (COMMANDS.some(({ path }) => path === `run ${second}`)) return args
  return [second, ...others].some((word) => JOB_FILE.test(word)) ? ['job', ...args] : args
}
