import type { CommandContext, CompletionKind } from '../command.ts'
import { COMMANDS, GROUPS } from '../commands.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { withGlobalFlags } from '../global-flags.ts'
import { completionsFor, type Completion, type CompletableCommand } from './offers.ts'

/**
 * Scripts that call `__complete` with the words up to the cursor. Without completions, bash and zsh
 * fall back to file names.
 */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_reeve() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _reeve reeve
`,
  zsh: `#compdef reeve
_reeve() {
  local -a offers
  local line
  for line in \${(f)"$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}; do
    offers+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#offers} )); then _describe reeve offers; else _files; fi
}
compdef _reeve reeve
`,
  fish: `function __reeve_offers
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c reeve -a '(__reeve_offers)'
`,
}

export async function runCompletion({ args, host }: CommandContext): Promise<number> {
  const [shell = ''] = args
  if (!Object.hasOwn(SCRIPTS, shell)) {
    throw new UsageError(`SHELL is one of ${Object.keys(SCRIPTS).join(', ')}, not "${shell}".`)
  }
  host.out(SCRIPTS[shell] ?? '')
  return EXIT_CODES.ok
}

/** Time limit of a lookup on the server: the user waits for the completion. */
const LOOKUP_TIMEOUT_MS = 1_000

/**
 * `__complete WORDS…`: prints one completion per line, followed by a tab and its description. Never
 * fails.
 */
export async function runComplete(invocation: CommandContext): Promise<number> {
  const known = [
    ...COMMANDS.map((spec) => ({ ...spec, flags: withGlobalFlags(spec) })),
    ...LOCAL_COMMANDS,
  ]
  const { completions, completes, typed } = completionsFor(invocation.args, {
    commands: known,
    groups: GROUPS,
  })
  const live =
    completes === undefined
      ? []
      : await withTimeout(lookUpCompletions(invocation, completes, typed))
  for (const { text, description } of [...completions, ...live])
    invocation.host.out(`${text}\t${description}\n`)
  return EXIT_CODES.ok
}

/** Returns no completions if the server fails or takes too long. */
async function withTimeout(values: Promise<readonly Completion[]>): Promise<readonly Completion[]> {
  const late = new Promise<readonly Completion[]>((resolve) => {
    setTimeout(() => resolve([]), LOOKUP_TIMEOUT_MS).unref()
  })
  return await Promise.race([values.catch(() => []), late])
}

const COMPLETIONS_MAX = 50

/** Looks up objects on the server whose ID or name starts with the typed text. */
async function lookUpCompletions(
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

/** Commands that run without a server. Their specifications are in `main/commands.ts`. */
export const LOCAL_COMMANDS: readonly CompletableCommand[] = [
  { path: 'agent', summary: 'Run an agent: a server, a node, or both.' },
  { path: 'completion', summary: 'Print a completion script for a shell.' },
  { path: 'config validate', summary: 'Validate configuration files.' },
  { path: 'dev-cluster', summary: 'Run several servers on this machine, for development.' },
  { path: 'operator migrate-storage', summary: 'Move all state to PostgreSQL, or back.' },
  { path: 'operator snapshot restore', summary: 'Restore a snapshot.' },
  { path: 'operator storage check', summary: 'Verify the storage of a stopped server.' },
  { path: 'operator storage salvage', summary: 'Salvage a damaged storage.' },
  { path: 'policy test', summary: 'Run the tests of policies.' },
  { path: 'policy check', summary: 'Check policies for errors.' },
  { path: 'policy eval', summary: 'Evaluate policies against a document.' },
  { path: 'policy fmt', summary: 'Format policies.' },
  { path: 'version', summary: 'Print the version.' },
]
