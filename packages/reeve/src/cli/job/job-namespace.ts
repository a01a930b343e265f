import type { CommandContext } from '../command.ts'
import { CommandError } from '../failure.ts'

interface NamespacedJob {
  readonly Namespace?: string | null | undefined
}

/**
 * Resolves the namespace of a job: flag, then job file, then environment. The file takes precedence
 * over the environment, which may be set for other work.
 */
export function resolveJobNamespace(
  { flags, settings }: CommandContext,
  job: NamespacedJob,
): string | undefined {
  const namespace = flags.string('namespace') ?? (job.Namespace || settings.namespace)
  if (namespace !== '*') return namespace
  throw new CommandError('A job lives in one namespace, not in all of them.', {
    hint: 'Name it with --namespace, or in the job file.',
  })
}
