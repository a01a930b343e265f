import { execFileSync, spawnSync } from 'node:child_process'

/** Why networks cannot be tried for real here; undefined when they can. */
export function whyNoPrivateNetwork(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root makes networks'
  const tools = ['unshare', 'ip', 'nft', 'iptables', 'mount', 'bash', 'timeout']
  const missing = tools.filter((tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0)
  if (missing.length > 0) return `${missing.join(', ')} not installed`
  const trial = 'mount -t tmpfs tmpfs /mnt && nft list ruleset'
  const trialRun = spawnSync('unshare', ['-n', '-m', 'sh', '-c', trial])
  return trialRun.status === 0 ? undefined : 'namespaces or the packet filter are not to be had'
}

/**
 * Runs a program of this folder and returns the JSON that it prints. The machine's own network is
 * never touched: names of namespaces live in a mount of their own.
 */
export function runInPrivateNetwork(child: URL, ...args: readonly string[]) {
  const [program = '', ...rest] = inPrivateNetwork(child.pathname, ...args)
  return JSON.parse(execFileSync(program, rest, { encoding: 'utf8', timeout: 60_000 }))
}

/** The command that runs Node.js with these arguments in a network of its own. */
export function inPrivateNetwork(...args: readonly string[]): readonly string[] {
  const script =
    'mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && mount --make-shared /run/netns && exec "$@"'
  return ['unshare', '-n', '-m', 'sh', '-c', script, 'sh', process.execPath, ...args]
}
