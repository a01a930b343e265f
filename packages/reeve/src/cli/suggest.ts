/** Synonyms from other command lines, with our commands. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  show: ['status', 'info', 'inspect', 'read', 'get'],
  get: ['status', 'list', 'info', 'read', 'show'],
  describe: ['status', 'explain', 'info', 'show'],
  view: ['status', 'show', 'info', 'read'],
  info: ['status', 'show', 'inspect'],
  read: ['get', 'show', 'status', 'info'],
  inspect: ['status', 'show', 'info', 'read'],
  list: ['status', 'ls'],
  ls: ['list', 'status'],
  log: ['logs'],
  monitor: ['status', 'watch', 'top'],
  watch: ['status', 'top'],
  ssh: ['exec'],
  shell: ['exec'],
  attach: ['exec'],
  new: ['create', 'init', 'put', 'apply'],
  add: ['create', 'put', 'apply'],
  create: ['apply', 'put', 'init', 'run'],
  make: ['create', 'init'],
  set: ['put', 'update', 'apply'],
  edit: ['update', 'apply'],
  change: ['update', 'apply'],
  apply: ['run', 'put'],
  deploy: ['run'],
  submit: ['run'],
  up: ['run', 'start'],
  launch: ['run', 'start', 'dispatch'],
  rollback: ['revert'],
  undo: ['revert'],
  verify: ['validate', 'check'],
  lint: ['validate', 'check'],
  format: ['fmt'],
  remove: ['delete', 'purge', 'stop'],
  rm: ['delete', 'purge', 'stop'],
  del: ['delete', 'purge'],
  destroy: ['delete', 'stop'],
  kill: ['stop'],
  download: ['cp', 'fs'],
  copy: ['cp'],
  whoami: ['self'],
  config: ['get-config'],
  // Nouns at the root.
  jobs: ['job'],
  pods: ['alloc'],
  pod: ['alloc'],
  allocs: ['alloc'],
  allocation: ['alloc'],
  allocations: ['alloc'],
  nodes: ['node'],
  evals: ['eval'],
  evaluation: ['eval'],
  deployments: ['deployment'],
  ns: ['namespace'],
  namespaces: ['namespace'],
  variable: ['var'],
  variables: ['var'],
  secret: ['var'],
  services: ['service'],
  events: ['event'],
  organization: ['org'],
  organizations: ['org'],
  projects: ['project'],
  workspaces: ['workspace'],
  policies: ['policy'],
  metrics: ['top', 'operator'],
}

/** Commands whose effect is hard or impossible to undo. */
const DESTRUCTIVE: ReadonlySet<string> = new Set([
  'accept-loss',
  'cancel',
  'delete',
  'discard',
  'drain',
  'fail',
  'force-leave',
  'gc',
  'purge',
  'remove-user',
  'restore',
  'revoke',
  'rotate-shared',
  'signal',
  'stop',
])

const SUGGESTIONS_MAX = 3

/**
 * The commands that a mistyped word most likely means, the likeliest first. A destructive command
 * is suggested only for a synonym of its own name or a single typing error in it: who types `show`
 * must never be offered `stop`.
 */
export function suggestCommands(input: string, names: readonly string[]): readonly string[] {
  const word = input.toLowerCase()
  const synonyms = (SYNONYMS[word] ?? []).filter((name) => names.includes(name))
  const similar = names
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .filter(({ name, distance }) => distance <= maxDistance(word, name))
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .map(({ name }) => name)
  const longer = word.length < 3 ? [] : names.filter((name) => name.startsWith(word))
  const nonDestructive = longer.filter((name) => !DESTRUCTIVE.has(name))
  return [...new Set([...synonyms, ...similar, ...nonDestructive])].slice(0, SUGGESTIONS_MAX)
}

/** One error in four letters, two in seven; in destructive commands one at most. */
function maxDistance(typed: string, name: string): number {
  if (DESTRUCTIVE.has(name)) return 1
  return Math.floor((Math.min(typed.length, name.length) + 1) / 4)
}

/** Insertions, deletions, substitutions and swaps of neighbours between two words. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const isEqual = a[row - 1] === b[column - 1]
      const isSwap = row > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isEqual ? 0 : 1),
        isSwap ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      )
    }
    beforeLast = last
    last = current
  }
  return last[b.length] ?? 0
}
