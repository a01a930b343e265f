import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { renderJson } from '../output/output.ts'
import { escapeTerminalControls } from '../output/printable.ts'
import { findJob } from './find-job.ts'

/** `job inspect`: prints the stored job; `--hcl` prints the submitted source. */
export async function runJobInspect(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output, host } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const request = { params: { job_id: ID }, query: { namespace: Namespace } }
  const version = flags.integer('version')
  if (flags.has('hcl')) {
    const { data: job } = await client.v1.readJob(request)
    const query = { ...request.query, version: version ?? job.Version }
    const { data } = await client.v1.readJobSubmission({ params: request.params, query })
    const text = host.isTerminal ? escapeTerminalControls(data.Source) : data.Source
    host.out(text.endsWith('\n') ? text : `${text}\n`)
    return EXIT_CODES.ok
  }
  const job =
    version === undefined
      ? (await client.v1.readJob(request)).data
      : await findVersion(invocation, request, version)
  output.print({ Job: job }, () => renderJson({ Job: job }))
  return EXIT_CODES.ok
}

interface JobRequest {
  readonly params: { readonly job_id: string }
  readonly query: { readonly namespace: string }
}

async function findVersion({ client }: CommandContext, request: JobRequest, version: number) {
  const { data } = await client.v1.listJobVersions(request)
  const found = data.Versions.find(({ Version }) => Version === version)
  if (found !== undefined) return found
  throw new CommandError(`Job "${request.params.job_id}" has no version ${version}.`, {
    code: EXIT_CODES.missing,
    hint: `"reeve job history ${request.params.job_id}" lists the versions.`,
  })
}
