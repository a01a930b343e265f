import type { Completes, Invocation } from '../command.ts'
import type { Offer } from './offers.ts'

const OFFERS_MAX = 50

/** What the server has that begins with what was typed. */
export async function liveValues(
  invocation: Invocation,
  completes: Completes,
  typed: string,
): Promise<readonly Offer[]> {
  const offers = await LOOK_UPS[completes](invocation, typed)
  return offers.filter(({ text }) => text.startsWith(typed))
}

type LookUp = (invocation: Invocation, typed: string) => Promise<readonly Offer[]>

const LOOK_UPS: Readonly<Record<Completes, LookUp>> = {
  // The shell knows files better.
  file: async () => [],
  job: async (invocation, typed) => {
    const query = { ...placeOf(invocation), prefix: typed, per_page: OFFERS_MAX }
    const { data } = await invocation.client.v1.listJobs({ query })
    return data.map((job) => ({ text: job.ID, says: `${job.Type}, ${job.Status}` }))
  },
  allocation: async (invocation, typed) => {
    const query = { ...placeOf(invocation), prefix: evenDigits(typed), per_page: OFFERS_MAX }
    const { data } = await invocation.client.v1.listAllocations({ query })
    return data.map((one) => ({ text: one.ID, says: `${one.Name}, ${one.ClientStatus}` }))
  },
  deployment: async (invocation, typed) => {
    const query = { ...placeOf(invocation), prefix: evenDigits(typed), per_page: OFFERS_MAX }
    const { data } = await invocation.client.v1.listDeployments({ query })
    return data.map((one) => ({ text: one.ID, says: `${one.JobID}, ${one.Status}` }))
  },
  evaluation: async (invocation, typed) => {
    const query = { ...placeOf(invocation), prefix: evenDigits(typed), per_page: OFFERS_MAX }
    const { data } = await invocation.client.v1.listEvaluations({ query })
    return data.map((one) => ({ text: one.ID, says: `${one.JobID}, ${one.Status}` }))
  },
  node: async ({ client }, typed) => {
    const query = { prefix: evenDigits(typed), per_page: OFFERS_MAX }
    const { data } = await client.v1.listNodes({ query })
    return data.map((node) => ({ text: node.ID, says: `${node.Name}, ${node.Status}` }))
  },
  'node-pool': async ({ client }, typed) => {
    const { data } = await client.v1.listNodePools({ query: { prefix: typed } })
    return data.map((pool) => ({ text: pool.Name, says: pool.Description }))
  },
  volume: async (invocation, typed) => {
    const filter = `Name matches ${JSON.stringify(`^${typed.replaceAll(/[^\w-]/g, '.')}`)}`
    const query = { ...placeOf(invocation), filter, per_page: OFFERS_MAX }
    const { data } = await invocation.client.v1.listVolumes({ query })
    return data.map((volume) => ({
      text: volume.Name,
      says: `${volume.PluginID}, ${volume.State}`,
    }))
  },
  namespace: async ({ client }, typed) => {
    const { data } = await client.v1.listNamespaces({ query: { prefix: typed } })
    return data.map((namespace) => ({ text: namespace.Name, says: namespace.Description }))
  },
}

/** The namespace may stand in the words that are completed. */
function placeOf({ args }: Invocation): { readonly namespace?: string } {
  const namespace = args[args.indexOf('--namespace') + 1]
  return args.includes('--namespace') && namespace !== undefined ? { namespace } : {}
}

/** Beginnings of ids have an even number of digits. */
function evenDigits(typed: string): string {
  const digits = typed.replaceAll('-', '')
  return digits.slice(0, digits.length - (digits.length % 2))
}
