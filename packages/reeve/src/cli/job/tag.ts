import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { findJob } from './find-job.ts'

/** `job tag JOB NAME`: tags a version, which is then retained; `--unset` removes the tag. */
export async function runJobTag(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const [given = '', name = ''] = args
  const { ID, Namespace } = await findJob(invocation, given)
  const params = { job_id: ID, tag_name: name }
  const query = { namespace: Namespace }
  const wanted = flags.integer('version')
  if (flags.has('unset')) {
    if (wanted !== undefined)
      throw new UsageError('--unset needs no --version: a tag has only one.')
    await client.v1.untagJobVersion({ params, query })
    output.printLine(`Tag "${name}" of job "${ID}" is removed.`)
    return EXIT_CODES.ok
  }
  const version =
    wanted ?? (await client.v1.readJob({ params: { job_id: ID }, query })).data.Version
  const { data } = await client.v1.tagJobVersion({
    params,
    query,
    body: { Version: version, Description: flags.string('description') },
  })
  output.print(data, () => `Version ${version} of job "${ID}" is tagged "${name}".`)
  return EXIT_CODES.ok
}
