/**
 * Who may import whom: the design's drawing "One direction" as data, checked by `tools/arrows.ts`.
 * Changing an arrow is a decision record in `docs/contributing/decisions/`.
 *
 *   folder    where the area's files are
 *   may       areas it may import; `types` only with `import type`
 *   packages  npm packages it may import (and its package.json must declare)
 *   builtins  true when it may import Node's own modules
 *   doors     files that others may import, if not only `index.ts`; `open` areas have none
 *   pure      no clock, no disk, no network: compiled without host types, see tsconfig.core.json
 *   library   may import only other libraries, so that it can be used without the product
 *
 * Test files beside the code may also import Node's modules, development packages and their
 * package's `test/`. Files under `test/`, `bench/`, `fuzz/` and `sim/` may import every
 * area.
 */

const reeve = 'packages/reeve/src'
const pure = true
const builtins = true
const library = true

export const areas = {
  contract: {
    folder: 'packages/contract/src',
    // Constants have a door of their own, because the others load all schemas.
    doors: ['index.ts', 'constants.ts', 'v1/index.ts', 'v2/index.ts'],
    packages: ['typebox'],
  },
  sdk: { folder: 'packages/sdk/src', may: ['contract'] },
  web: {
    folder: 'packages/web/src',
    may: ['sdk', 'contract'],
    packages: [
      'react',
      'react-dom',
      '@tanstack/react-query',
      '@tanstack/react-virtual',
      '@codemirror/commands',
      '@codemirror/language',
      '@codemirror/lint',
      '@codemirror/merge',
      '@codemirror/state',
      '@codemirror/view',
      '@lezer/highlight',
      '@xterm/addon-fit',
      '@xterm/xterm',
      'uplot',
    ],
  },

  // Libraries without host access: hashes, YAML, and the engine of regex.ts (decision 0094).
  kit: {
    folder: 'packages/kit/src',
    open: true,
    packages: ['@noble/hashes', 're2js', 'yaml'],
    pure,
    library,
  },
  // Keys and signatures for the languages, by Node's own module (decision 0095).
  crypto: { folder: 'packages/kit/node', builtins },

  // Languages that can be used without the product: they import nothing of it (decision 0099).
  hcl: { folder: 'packages/hcl/src', pure, library },
  'go-template': {
    folder: 'packages/go-template/src',
    doors: ['index.ts', 'fmt/index.ts', 'time/index.ts', 'url/index.ts'],
    pure,
    library,
  },
  rego: {
    folder: 'packages/rego/src',
    may: ['go-template'],
    // The builtins that read GraphQL (decision 0099).
    packages: ['graphql'],
    pure,
    library,
  },
  // Decimal numbers of a hundred digits.
  'native-policy': {
    folder: 'packages/native-policy/src',
    packages: ['decimal.js'],
    pure,
    library,
  },

  // The runner of a phase starts without the tables of aliases.
  compat: { folder: `${reeve}/compat`, doors: ['index.ts', 'tool/index.ts'], pure },
  model: {
    folder: `${reeve}/model`,
    // The schemas of stored rows are for restoring a snapshot; no other command has to load them.
    doors: ['index.ts', 'stored/index.ts'],
    // Periodic jobs carry cron expressions (decision 0013).
    may: ['contract', 'lang'],
    packages: ['typebox'],
    pure,
  },
  lang: {
    folder: `${reeve}/lang`,
    // A door for each: who reads one must not load both.
    doors: ['filter/index.ts', 'cron/index.ts'],
    pure,
  },
  jobspec: {
    folder: `${reeve}/jobspec`,
    may: ['hcl', 'model', 'contract', 'compat'],
    packages: ['@noble/hashes', 'bcryptjs'],
    pure,
  },
  // Rules are written in HCL; shapes are the contract's (decision 0002).
  acl: { folder: `${reeve}/acl`, may: ['model', 'hcl', 'contract', 'compat'], pure },
  // Outcomes have the contract's shape.
  policy: {
    folder: `${reeve}/policy`,
    may: ['rego', 'native-policy', 'hcl', 'model', 'contract'],
    pure,
  },
  scheduler: {
    folder: `${reeve}/scheduler`,
    may: ['model', 'contract'],
    pure,
  },
  state: { folder: `${reeve}/state`, may: ['model'], types: ['contract'], pure },

  // Several servers, one state: who leads, and what the others do (decision 0031).
  // The ports of http are declared there, and implemented here.
  cluster: { folder: `${reeve}/cluster`, may: ['state', 'proxy'], types: ['http'], builtins },
  // Forwards requests to another server: to the leader, or to another region (decision 0142).
  proxy: { folder: `${reeve}/proxy`, builtins },
  // Certificates: how agents prove to be servers or nodes (decision 0039).
  tls: { folder: `${reeve}/tls`, builtins },
  storage: {
    folder: `${reeve}/storage`,
    // Its engines keep the lease of the servers that share them (decision 0031).
    may: ['state', 'cluster'],
    types: ['contract'],
    packages: ['classic-level', 'pg'],
    builtins,
  },
  control: {
    folder: `${reeve}/control`,
    // The rows of a plan are workload's: a registration commits them too (decision 0052).
    may: ['workload', 'scheduler', 'state', 'policy', 'model'],
    types: ['contract'],
    packages: ['pino', 'prom-client'],
    builtins,
  },
  // Work that must not hold requests, on threads of their own (decision 0065).
  threads: { folder: `${reeve}/threads`, builtins },
  // Policies are asked on such a thread; workload and governance get it handed in.
  judging: { folder: `${reeve}/judging`, may: ['threads', 'policy', 'crypto'], builtins },
  workload: {
    folder: `${reeve}/workload`,
    may: [
      'threads',
      'crypto',
      'scheduler',
      'state',
      'policy',
      'jobspec',
      'acl',
      'model',
      'contract',
      'compat',
    ],
    builtins,
  },
  // Several regions: requests are passed on, and what one of them rules is copied (decision 0041).
  regions: {
    folder: `${reeve}/regions`,
    may: ['cluster', 'proxy', 'workload', 'state', 'model', 'contract'],
    types: ['http'],
    packages: ['typebox'],
    builtins,
  },
  governance: {
    folder: `${reeve}/governance`,
    // Its rules and limits are the contract's, as for workload (decision 0027); large states are
    // read on a thread (decision 0110).
    may: ['state', 'policy', 'acl', 'model', 'contract', 'threads'],
    builtins,
  },
  // Runs of governance become jobs of workload (decision 0115).
  infrastructure: {
    folder: `${reeve}/infrastructure`,
    may: ['governance', 'workload', 'state', 'model'],
    types: ['contract'],
    builtins,
  },
  // The program that the jobs of runs start on nodes; it unpacks archives as agents do.
  runner: { folder: `${reeve}/runner`, may: ['agent', 'compat', 'contract'], builtins },
  // Audit records of requests that commit nothing themselves.
  audit: {
    folder: `${reeve}/audit`,
    may: ['governance', 'acl', 'state'],
    types: ['contract'],
    builtins,
  },
  // All that outlives a request: node channels, event streams, exec sessions, followed logs
  // (decision 0142).
  sessions: {
    folder: `${reeve}/sessions`,
    may: ['workload', 'acl', 'state', 'model', 'contract'],
    types: ['compat'],
    packages: ['typebox', 'ws'],
    builtins,
  },
  http: {
    folder: `${reeve}/http`,
    // Reads and watches go straight to state; lang holds the filter expressions of list routes;
    // large bodies are parsed on a thread (decision 0081); marked renders the documentation (0137).
    may: [
      'sessions',
      'audit',
      'workload',
      'governance',
      'acl',
      'model',
      'contract',
      'state',
      'lang',
      'threads',
      'compat',
    ],
    packages: ['fastify', 'marked', 'pino', 'prom-client', 'typebox'],
    builtins,
  },
  agent: {
    folder: `${reeve}/agent`,
    // The runner of a phase unpacks archives, and must not load the agent for it.
    doors: ['index.ts', 'artifact/index.ts'],
    // Templates are rendered on threads of their own (decision 0065).
    may: ['model', 'go-template', 'sdk', 'contract', 'threads', 'compat'],
    // Requests for objects of buckets are signed (decision 0093), and zip files are untrusted input
    // that a library reads (decision 0094).
    packages: ['aws4fetch', 'typebox', 'ws', 'yauzl'],
    builtins,
  },
  drivers: {
    folder: `${reeve}/drivers`,
    may: ['agent'],
    types: ['contract'],
    packages: ['pino'],
    builtins,
  },
  // Tables of the names that other clients, files and systems use (decision 0120).
  cli: {
    folder: `${reeve}/cli`,
    // `--template` is the language of templates in job files; errors name what a route needs, which
    // the contract says (decision 0035).
    may: ['sdk', 'jobspec', 'model', 'hcl', 'go-template', 'lang', 'contract', 'crypto', 'compat'],
    packages: ['commander', 'ws'],
    builtins,
  },
  // Commands over files of policies: the engines, and a disk (decision 0035).
  'policy-tools': {
    folder: `${reeve}/policy-tools`,
    may: ['policy', 'rego', 'native-policy', 'hcl'],
    builtins,
  },
  main: {
    folder: `${reeve}/main`,
    may: '*',
    // Backups are signed for S3 (decision 0036).
    packages: ['aws4fetch', 'commander', 'fastify', 'pino', 'prom-client', 'ws'],
    builtins,
  },
}
