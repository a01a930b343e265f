import { ApiError } from '@reeve/sdk'
import { connectClient } from '../client.ts'
import type { Invocation } from '../command.ts'
import type { ReadJob } from '../job-file/read-job-file.ts'
import { FROM_JOB_FILE } from '../settings/settings.ts'

/**
 * The same command for the region that its job file names. The server registers the job there, so
 * its evaluation and deployment are there too. The command line and the environment win over the
 * file, as they do for the server.
 */
export async function inRegionOfJob(
  invocation: Invocation,
  { Region }: ReadJob['job'],
): Promise<Invocation> {
  const isNamed = typeof Region === 'string' && Region !== ''
  return isNamed && invocation.settings.region === undefined
    ? await inRegion(invocation, Region)
    : invocation
}

/**
 * The same command for the region that has accepted a multi-region job: a server whose region the
 * job does not list forwards it to one that it lists.
 */
export async function inRegionOfEvaluation(
  invocation: Invocation,
  { Multiregion }: ReadJob['job'],
  { evalId, namespace }: { readonly evalId: string; readonly namespace: string | undefined },
): Promise<Invocation> {
  const listed = Multiregion?.Regions ?? []
  if (evalId === '' || listed.length === 0 || invocation.settings.region !== undefined)
    return invocation
  const others = listed.map(({ Name }) => Name ?? '').filter((name) => name !== '')
  for (const region of [undefined, ...others]) {
    const there = region === undefined ? invocation : await inRegion(invocation, region)
    if (await hasEvaluation(there, evalId, namespace)) return there
  }
  return invocation
}

async function hasEvaluation(
  { client }: Invocation,
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

async function inRegion(invocation: Invocation, region: string): Promise<Invocation> {
  const { ways, signal } = invocation
  const sources = { ...invocation.settings.sources, region: FROM_JOB_FILE }
  const settings = { ...invocation.settings, region, sources }
  return { ...invocation, settings, client: await connectClient(settings, ways, signal) }
}
