/**
 * Names under which other clients, files and machines know what is ours. Each table is written from
 * the other name to ours, unless it says otherwise. Without aliases only our own names exist.
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

/** Of `/v1`. */
export interface HttpAliases {
  /** Names in lower case. */
  readonly requestHeaders: Readonly<Record<string, string>>
  /** From ours to the other, in lower case: answers carry both. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Fields of JSON bodies. Only the schemas that have our field know the other one. */
  readonly fields: Readonly<Record<string, string>>
  /** Values of JSON bodies, by our name of their field. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Directories of variables. A path is answered in the words in which it was asked for. */
  readonly variableDirectories: Readonly<Record<string, string>>
}

/** Of `/api/v2`. */
export interface GovernanceAliases {
  /** What every answer carries besides ours. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Kinds of policies, and the ends of their files. */
  readonly policyKinds: Readonly<Record<string, string>>
  /** Members of attributes. */
  readonly members: Readonly<Record<string, string>>
  /** Values of members, by our name of the member. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Services of the discovery document, by the words of its readers. */
  readonly discoveryPath: string | undefined
  readonly discovery: Readonly<Record<string, string>>
}

export interface JobFileAliases {
  /** Blocks of jobs, groups and tasks. */
  readonly blocks: Readonly<Record<string, string>>
  readonly attributes: Readonly<Record<string, string>>
  /** Providers of services and secrets. */
  readonly providers: Readonly<Record<string, string>>
  /** What the environment variables of variables may begin with besides ours. */
  readonly variablePrefixes: readonly string[]
}

/** What tasks and their templates see. */
export interface TaskAliases {
  /** Every variable of ours is there under these prefixes too. */
  readonly environmentPrefixes: readonly string[]
  readonly templateFunctions: Readonly<Record<string, string>>
  readonly variableDirectories: Readonly<Record<string, string>>
  /** Attributes of nodes, from ours to the other: a node has both. */
  readonly nodeAttributes: Readonly<Record<string, string>>
}

/** Of ACL policies. */
export interface RuleAliases {
  readonly capabilities: Readonly<Record<string, string>>
  readonly variableDirectories: Readonly<Record<string, string>>
}

/** Metrics that are there under a second name, which usual dashboards read. */
export interface MetricAliases {
  /** What the names of a second set begin with. */
  readonly prefix: string | undefined
}

export interface CertificateAliases {
  /** Last parts of the names that certificates of servers and nodes may hold besides ours. */
  readonly domains: readonly string[]
}

export interface CommandLineAliases {
  /** Our variable that names the server. */
  readonly address: string
  /** Variables of other programs, program by program. */
  readonly environments: readonly Readonly<Record<string, string>>[]
}

/** Our names only. */
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
    policyKinds: {},
    members: {},
    values: {},
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
  metrics: { prefix: undefined },
  certificates: { domains: [] },
  commandLine: { address: 'REEVE_ADDR', environments: [] },
}
