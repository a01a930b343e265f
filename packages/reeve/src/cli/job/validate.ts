import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { readJobFile, type ReadJob } from '../job-file/read-job-file.ts'
import { counted } from '../plan/metrics-text.ts'
import { jobNamespace } from './job-namespace.ts'

/** `job validate`: everything for which the server would refuse the job, with its places. */
export async function runJobValidate(invocation: Invocation): Promise<number> {
  const { client, output, args } = invocation
  const file = args[0] ?? ''
  const read = await readJobFile(invocation, file)
  const query = { namespace: jobNamespace(invocation, read.job) }
  const { data } = await client.v1.validateJob({ query, body: { Job: read.job } })
  const problems = data.ValidationErrors ?? []
  if (output.isForMachines) {
    output.show(data, () => '')
    return problems.length === 0 ? EXIT_CODES.ok : EXIT_CODES.failed
  }
  if (data.Warnings !== '') output.note(data.Warnings.trimEnd())
  if (problems.length === 0) {
    output.say(`Job "${read.job.ID}" is right.`)
    return EXIT_CODES.ok
  }
  const lines = await placed(read, problems)
  const what = `${counted(problems.length, 'problem')} in ${file === '-' ? 'standard input' : file}:`
  throw new CommandFailure(`${what}\n\n${lines.join('\n')}`)
}

async function placed(
  { positions }: ReadJob,
  problems: readonly string[],
): Promise<readonly string[]> {
  if (positions === undefined) return problems
  const { formatPlacedProblem, placeProblems } = await import('../../jobspec/index.ts')
  const parts = problems.map((problem) => {
    const [, path = '', message = problem] = /^([A-Z][\w.[\]]*): (.*)$/s.exec(problem) ?? []
    return { path, message }
  })
  return placeProblems(parts, positions).map(formatPlacedProblem)
}
