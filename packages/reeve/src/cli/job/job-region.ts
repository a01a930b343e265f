import { ApiError } from '@reeve/sdk'
import { createCliClient } from '../client.ts'
import type { CommandContext } from '../command.ts'
import type { LoadedJob } from '../job-file/read-job-file.ts'
import { JOB_FILE_SOURCE } from '../settings/settings.ts'

/**
 * Returns a context for the region that the job file names, because the server registers the job
 * there. Flag and environment take precedence.
 */
export async function forRegionOfJob(
  invocation: CommandContext,
  { Region }: LoadedJob['job'],
): Promise<CommandContext> {
  const isNamed = typeof Region === 'string' && Region !== ''
  return isNamed && invocation.settings.region === undefined
    ? await withRegion(invocation, Region)
    : invocation
}

/**
 * Returns a context for the region that accepted a multi-region job. If the job does not list the
 * region of the server, the server forwards it to a listed one.
 */
export async function forRegionOfEvaluation(
  invocation: CommandContext,
  { Multiregion }: LoadedJob['job'],
  { evalId, namespace }: { readonly evalId: string; readonly namespace: string | undefined },
): Promise<CommandContext> {
  const regions = Multiregion?.Regions ?? []
  if (evalId === '' || regions.length === 0 || invocation.settings.region !== undefined)
    return invocation
  const others = regions.map(({ Name }) => Name ?? '').filter((name) => name !== '')
  for (const region of [undefined, ...others]) {
    const candidate = region === undefined ? invocation : await withRegion(invocation, region)
    if (await hasEvaluation(candidate, evalId, namespace)) return candidate
  }
  return invocation
}

async function hasEvaluation(
  { client }: CommandContext,
  evalId: string,
  namespace: string | undefined,
): Promise<boolean> {
  try {
    await client.v1.readEvaluation({ params: { eval_id: evalId }, query: { namespace } })
    return true
  } catch (thrown) {
    if (thrown instanceof ApiError) return false
    throw thrown
  }
}

async function withRegion(invocation: CommandContext, region: string): Promise<CommandContext> {
  const { transport, signal } = invocation
  const sources = { ...invocation.settings.sources, region: JOB_FILE_SOURCE }
  const settings = { ...invocation.settings, region, sources }
  return { ...invocation, settings, client: await createCliClient(settings, transport, signal) }
}
