import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../failure.ts'
import type { LoadedJob } from '../job-file/read-job-file.ts'
import { pluralize } from '../plan/metrics-text.ts'
import { resolveJobNamespace } from './job-namespace.ts'

/** Validates the job on the server. */
export async function validateOnServer(invocation: CommandContext, { job }: LoadedJob) {
  const query = { namespace: resolveJobNamespace(invocation, job) }
  const { data } = await invocation.client.v1.validateJob({ query, body: { Job: job } })
  return data
}

/** Creates an error that lists the problems with their source positions. */
export async function validationFailure(
  { args: [file = ''] }: Pick<CommandContext, 'args'>,
  read: LoadedJob,
  problems: readonly string[],
): Promise<CommandError> {
  const lines = await placed(read, problems)
  const what = `${pluralize(problems.length, 'problem')} in ${file === '-' ? 'standard input' : file}:`
  return new CommandError(`${what}\n\n${lines.join('\n')}`)
}

async function placed(
  { sourceMap }: LoadedJob,
  problems: readonly string[],
): Promise<readonly string[]> {
  if (sourceMap === undefined) return problems
  const { formatLocatedProblem: formatPlacedProblem, locateProblems: placeProblems } =
    await import('../../jobspec/index.ts')
  const parts = problems.map((problem) => {
    const [, path = '', message = problem] = /^([A-Z][\w.[\]]*): (.*)$/s.exec(problem) ?? []
    return { path, message }
  })
  return placeProblems(parts, sourceMap).map(formatPlacedProblem)
}

/**
 * Replaces a validation error of the server by one with source positions, which the server does not
 * know.
 */
export async function withSourcePositions(
  thrown: unknown,
  invocation: CommandContext,
  read: LoadedJob,
): Promise<unknown> {
  if (!(thrown instanceof ApiError) || thrown.code !== 'job-invalid') return thrown
  const { ValidationErrors } = await validateOnServer(invocation, read).catch(ignoreApiError)
  const problems = ValidationErrors ?? []
  return problems.length === 0 ? thrown : await validationFailure(invocation, read, problems)
}

/** Ignores API errors: the original error is reported then. */
function ignoreApiError(thrown: unknown): { readonly ValidationErrors: null } {
  if (!(thrown instanceof ApiError)) throw thrown
  return { ValidationErrors: null }
}
