import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { renderJson } from '../output/output.ts'
import { printableText } from '../output/printable.ts'
import { findJob } from './find-job.ts'

/** `job inspect`: the job as the server has it; `--hcl` as it was written. */
export async function runJobInspect(invocation: Invocation): Promise<number> {
  const { client, args, flags, output, host } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const version = flags.whole('version')
  if (flags.has('hcl')) {
    const { data: job } = await client.v1.readJob(at)
    const query = { ...at.query, version: version ?? job.Version }
    const { data } = await client.v1.readJobSubmission({ params: at.params, query })
    const text = host.isTerminal ? printableText(data.Source) : data.Source
    host.out(text.endsWith('\n') ? text : `${text}\n`)
    return EXIT_CODES.ok
  }
  const job =
    version === undefined
      ? (await client.v1.readJob(at)).data
      : await versionOf(invocation, at, version)
  output.show({ Job: job }, () => renderJson({ Job: job }))
  return EXIT_CODES.ok
}

interface Place {
  readonly params: { readonly job_id: string }
  readonly query: { readonly namespace: string }
}

async function versionOf({ client }: Invocation, at: Place, version: number) {
  const { data } = await client.v1.listJobVersions(at)
  const found = data.Versions.find(({ Version }) => Version === version)
  if (found !== undefined) return found
  throw new CommandFailure(`Job "${at.params.job_id}" has no version ${version}.`, {
    code: EXIT_CODES.missing,
    hint: `"reeve job history ${at.params.job_id}" lists the versions.`,
  })
}
