import { ApiError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { CommandFailure } from '../failure.ts'
import type { ReadJob } from '../job-file/read-job-file.ts'
import { counted } from '../plan/metrics-text.ts'
import { jobNamespace } from './job-namespace.ts'

/** What the server says of the job: everything for which it would refuse it. */
export async function validated(invocation: Invocation, { job }: ReadJob) {
  const query = { namespace: jobNamespace(invocation, job) }
  const { data } = await invocation.client.v1.validateJob({ query, body: { Job: job } })
  return data
}

/** `2 problems in web.hcl:`, each with its place there. */
export async function problemsFailure(
  { args: [file = ''] }: Pick<Invocation, 'args'>,
  read: ReadJob,
  problems: readonly string[],
): Promise<CommandFailure> {
  const lines = await placed(read, problems)
  const what = `${counted(problems.length, 'problem')} in ${file === '-' ? 'standard input' : file}:`
  return new CommandFailure(`${what}\n\n${lines.join('\n')}`)
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

/** A server knows neither the name of the file nor the files and environment it was read with. */
export async function withPlaces(
  thrown: unknown,
  invocation: Invocation,
  read: ReadJob,
): Promise<unknown> {
  if (!(thrown instanceof ApiError) || thrown.code !== 'job-invalid') return thrown
  const { ValidationErrors } = await validated(invocation, read).catch(nothingFound)
  const problems = ValidationErrors ?? []
  return problems.length === 0 ? thrown : await problemsFailure(invocation, read, problems)
}

/** The first refusal says it all. */
function nothingFound(thrown: unknown): { readonly ValidationErrors: null } {
  if (!(thrown instanceof ApiError)) throw thrown
  return { ValidationErrors: null }
}
