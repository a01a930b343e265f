import { Fault } from '@reeve/kit/fault.ts'
import { runProgram } from '../run-program.ts'

/** Runs a program of the machine and returns its output; Fault `network` with its complaint. */
export type RunCommand = (
  program: string,
  args: readonly string[],
  input?: string,
) => Promise<string>

export const runCommand: RunCommand = async (program, args, input = '') => {
  const { failure, output, complaint } = await runProgram(program, args, { input })
  if (failure !== undefined) throw new Fault('network', `${program}: ${complaint || failure}`)
  return output
}
