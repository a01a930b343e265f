import type { Invocation } from '../command.ts'
import { CommandFailure } from '../failure.ts'

interface NamedJob {
  readonly Namespace?: string | null | undefined
}

/**
 * Where a job is to live: what the command line says, else the file, else the environment. A file
 * that names its namespace was written with care; an environment may be left from other work.
 */
export function jobNamespace({ flags, settings }: Invocation, job: NamedJob): string | undefined {
  const namespace = flags.text('namespace') ?? (job.Namespace || settings.namespace)
  if (namespace !== '*') return namespace
  throw new CommandFailure('A job lives in one namespace, not in all of them.', {
    hint: 'Name it with --namespace, or in the job file.',
  })
}
