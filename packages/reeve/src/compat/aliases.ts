/**
 * Names that clients, files and machines of other products use for Reeve's features. A table maps
 * the other product's name to Reeve's unless its comment says otherwise. `NO_ALIASES` has none.
 */
export interface Aliases {
  readonly http: HttpAliases
  readonly governance: GovernanceAliases
  readonly jobFile: JobFileAliases
  readonly task: TaskAliases
  readonly rules: RuleAliases
  readonly metrics: MetricAliases
  readonly certificates: CertificateAliases
  readonly commandLine: CommandLineAliases
}

/** Names in the workload API (`/v1`). */
export interface HttpAliases {
  /** Maps alias headers, in lower case, to Reeve's. */
  readonly requestHeaders: Readonly<Record<string, string>>
  /** Maps Reeve's header to its alias, in lower case. Responses carry both. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Fields of JSON bodies; accepted where the schema has Reeve's field. */
  readonly fields: Readonly<Record<string, string>>
  /** Values in JSON bodies, by Reeve's name of the field. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** First directories of variable paths. A response uses the name that the request used. */
  readonly variableDirectories: Readonly<Record<string, string>>
}

/** Names in the governance API (`/api/v2`). */
export interface GovernanceAliases {
  /** Headers with fixed values that are added to every response. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Maps Reeve's header to its alias, in lower case. Notifications of runs carry both. */
  readonly notificationHeaders: Readonly<Record<string, string>>
  /** Kinds of policies, which are also the suffixes of policy files. */
  readonly policyKinds: Readonly<Record<string, string>>
  /** Members of `attributes`, and of the objects in it that `nested` names. */
  readonly members: Readonly<Record<string, string>>
  readonly nested: readonly string[]
  /** Request headers of clients whose responses carry `responseMembers`. */
  readonly memberHeaders: readonly ClientHeader[]
  /** Header of clients that render logs as JSON lines, in requests that create a run. */
  readonly structuredLogHeader: HeaderValue | undefined
  /** From Reeve's name of a member to the one that those clients read. */
  readonly responseMembers: Readonly<Record<string, ResponseMember>>
  /** Values of members, by Reeve's name of the member. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Path of the service discovery document. */
  readonly discoveryPath: string | undefined
  /** Services of that document and their paths on this server. */
  readonly discovery: Readonly<Record<string, string>>
}

interface HeaderValue {
  /** Name of the header, in lower case. */
  readonly name: string
  readonly value: string
}

interface ClientHeader {
  /** In lower case. */
  readonly name: string
  /** Prefix of its value. */
  readonly prefix: string
}

interface ResponseMember {
  readonly name: string
  /** Sent instead of null, which those clients cannot read. */
  readonly nullValue?: string
}

export interface JobFileAliases {
  /** Blocks of jobs, groups and tasks. */
  readonly blocks: Readonly<Record<string, string>>
  readonly attributes: Readonly<Record<string, string>>
  /** Providers of services and secrets. */
  readonly providers: Readonly<Record<string, string>>
  /** Prefixes of environment variables that set input variables, besides Reeve's. */
  readonly variablePrefixes: readonly string[]
}

/** Names that tasks and their templates use. */
export interface TaskAliases {
  /** Prefixes under which tasks also get each of Reeve's environment variables. */
  readonly environmentPrefixes: readonly string[]
  readonly templateFunctions: Readonly<Record<string, string>>
  readonly variableDirectories: Readonly<Record<string, string>>
  /** Maps node attributes to their aliases. A node has both. */
  readonly nodeAttributes: Readonly<Record<string, string>>
}

/** Aliases in the rules of ACL policies. */
export interface RuleAliases {
  readonly capabilities: Readonly<Record<string, string>>
  readonly variableDirectories: Readonly<Record<string, string>>
}

/** Aliases of metrics, which common dashboards query. */
export interface MetricAliases {
  /** Maps Reeve's metric without its prefix to its alias. */
  readonly names: Readonly<Record<string, string>>
}

export interface CertificateAliases {
  /** Accepted last labels of certificate names of servers and nodes, besides Reeve's. */
  readonly domains: readonly string[]
}

interface CommandLineAliases {
  /** Name of Reeve's environment variable for the server address. */
  readonly address: string
  /** Environment variables of other programs; one table per program. */
  readonly environments: readonly Readonly<Record<string, string>>[]
}

export const NO_ALIASES: Aliases = {
  http: {
    requestHeaders: {},
    responseHeaders: {},
    fields: {},
    values: {},
    variableDirectories: {},
  },
  governance: {
    responseHeaders: {},
    notificationHeaders: {},
    policyKinds: {},
    members: {},
    values: {},
    nested: [],
    memberHeaders: [],
    structuredLogHeader: undefined,
    responseMembers: {},
    discoveryPath: undefined,
    discovery: {},
  },
  jobFile: { blocks: {}, attributes: {}, providers: {}, variablePrefixes: [] },
  task: {
    environmentPrefixes: [],
    templateFunctions: {},
    variableDirectories: {},
    nodeAttributes: {},
  },
  rules: { capabilities: {}, variableDirectories: {} },
  metrics: { names: {} },
  certificates: { domains: [] },
  commandLine: { address: 'REEVE_ADDR', environments: [] },
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Translates the environment variables of other programs to Reeve's. A token meant for one server
 * must not be sent to another, so only the variables of one program are used, and only if
 * `REEVE_ADDR` is not set.
 */
export function translateEnvironment(
  { address, environments }: CommandLineAliases,
  environment: Environment,
): Environment {
  if (isSet(environment[address])) return environment
  const programs = environments.filter((names) =>
    Object.keys(names).some((name) => isSet(environment[name])),
  )
  const chosen =
    programs.find((names) => isSet(environment[aliasOf(names, address)])) ?? programs[0]
  if (chosen === undefined) return environment
  const translated: Record<string, string | undefined> = { ...environment }
  for (const [alias, name] of Object.entries(chosen))
    if (!isSet(translated[name]) && isSet(environment[alias])) translated[name] = environment[alias]
  return translated
}

function aliasOf(names: Readonly<Record<string, string>>, name: string): string {
  return Object.keys(names).find((alias) => names[alias] === name) ?? name
}

/** An empty variable counts as unset. */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}

type Directories = Readonly<Record<string, string>>

/** Replaces an alias in the first directory of a path by Reeve's name. */
export function canonicalPath(directories: Directories, path: string): string {
  for (const alias in directories)
    if (isBelow(path, alias)) return `${directories[alias]}${path.slice(alias.length)}`
  return path
}

/** Returns a canonical path with the directory name that the request for `requested` used. */
export function pathAsRequested(directories: Directories, path: string, requested: string): string {
  for (const alias in directories) {
    const directory = directories[alias]
    if (directory !== undefined && isBelow(requested, alias) && isBelow(path, directory))
      return `${alias}${path.slice(directory.length)}`
  }
  return path
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}
