import type { CompletionKind, CommandContext } from '../command.ts'
import type { Completion } from './offers.ts'

const COMPLETIONS_MAX = 50

/** Looks up objects on the server whose ID or name starts with the typed text. */
export async function lookUpCompletions(
  invocation: CommandContext,
  completes: CompletionKind,
  typed: string,
): Promise<readonly Completion[]> {
  const offers = await LOOKUPS[completes](invocation, typed)
  return offers.filter(({ text }) => text.startsWith(typed))
}

type Lookup = (invocation: CommandContext, typed: string) => Promise<readonly Completion[]>

const LOOKUPS: Readonly<Record<CompletionKind, Lookup>> = {
  // Shells complete file names themselves.
  file: async () => [],
  job: async (invocation, typed) => {
    const query = { ...namespaceQuery(invocation), prefix: typed, per_page: COMPLETIONS_MAX }
    const { data } = await invocation.client.v1.listJobs({ query })
    return data.map((job) => ({ text: job.ID, description: `${job.Type}, ${job.Status}` }))
  },
  allocation: async (invocation, typed) => {
    const query = {
      ...namespaceQuery(invocation),
      prefix: evenHexDigits(typed),
      per_page: COMPLETIONS_MAX,
    }
    const { data } = await invocation.client.v1.listAllocations({ query })
    return data.map((one) => ({ text: one.ID, description: `${one.Name}, ${one.ClientStatus}` }))
  },
  deployment: async (invocation, typed) => {
    const query = {
      ...namespaceQuery(invocation),
      prefix: evenHexDigits(typed),
      per_page: COMPLETIONS_MAX,
    }
    const { data } = await invocation.client.v1.listDeployments({ query })
    return data.map((one) => ({ text: one.ID, description: `${one.JobID}, ${one.Status}` }))
  },
  evaluation: async (invocation, typed) => {
    const query = {
      ...namespaceQuery(invocation),
      prefix: evenHexDigits(typed),
      per_page: COMPLETIONS_MAX,
    }
    const { data } = await invocation.client.v1.listEvaluations({ query })
    return data.map((one) => ({ text: one.ID, description: `${one.JobID}, ${one.Status}` }))
  },
  node: async ({ client }, typed) => {
    const query = { prefix: evenHexDigits(typed), per_page: COMPLETIONS_MAX }
    const { data } = await client.v1.listNodes({ query })
    return data.map((node) => ({ text: node.ID, description: `${node.Name}, ${node.Status}` }))
  },
  'node-pool': async ({ client }, typed) => {
    const { data } = await client.v1.listNodePools({ query: { prefix: typed } })
    return data.map((pool) => ({ text: pool.Name, description: pool.Description }))
  },
  volume: async (invocation, typed) => {
    const filter = `Name matches ${JSON.stringify(`^${typed.replaceAll(/[^\w-]/g, '.')}`)}`
    const query = { ...namespaceQuery(invocation), filter, per_page: COMPLETIONS_MAX }
    const { data } = await invocation.client.v1.listVolumes({ query })
    return data.map((volume) => ({
      text: volume.Name,
      description: `${volume.PluginID}, ${volume.State}`,
    }))
  },
  namespace: async ({ client }, typed) => {
    const { data } = await client.v1.listNamespaces({ query: { prefix: typed } })
    return data.map((namespace) => ({ text: namespace.Name, description: namespace.Description }))
  },
}

/** Returns the namespace given on the command line that is being completed. */
function namespaceQuery({ args }: CommandContext): { readonly namespace?: string } {
  const namespace = args[args.indexOf('--namespace') + 1]
  return args.includes('--namespace') && namespace !== undefined ? { namespace } : {}
}

/** Removes an odd last digit: the API accepts ID prefixes with an even number of digits only. */
function evenHexDigits(typed: string): string {
  const digits = typed.replaceAll('-', '')
  return digits.slice(0, digits.length - (digits.length % 2))
}
