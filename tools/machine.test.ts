import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prepareMachine } from './machine.ts'

interface Case {
  readonly name: string
  readonly present?: readonly string[]
  readonly isRoot?: boolean
  readonly mayInstall?: boolean
  /** The step of apt-get that fails, by a word of its arguments. */
  readonly fails?: string
  readonly asked: readonly string[]
  readonly said: readonly RegExp[]
}

const ALL = ['cc', 'podman', 'runc', 'busybox']
const cases: readonly Case[] = [
  { name: 'nothing is done where everything is there', present: ALL, asked: [], said: [] },
  {
    name: 'a developer is told what to install, and nothing is installed',
    present: ['cc'],
    mayInstall: false,
    asked: [],
    said: [/^Skipped: tests of the docker driver .* apt-get install podman runc busybox-static\.$/],
  },
  {
    name: 'each group of tests has its line',
    mayInstall: false,
    isRoot: false,
    asked: [],
    said: [/isolation.*gcc libc6-dev/, /docker driver/, /need root.*sudo npm test/],
  },
  {
    name: 'CI installs only what is missing',
    present: ['cc', 'runc', 'busybox'],
    asked: ['update', '--download-only podman', '--no-download podman'],
    said: [/^CI: installing podman for/],
  },
  {
    name: 'a package that cannot be had is one line',
    present: ['cc'],
    fails: '--download-only',
    asked: ['update', '--download-only podman runc busybox-static'],
    said: [/^CI: installing/, /^Skipped: .*docker driver.* apt-get failed: no such package\.$/],
  },
]

for (const c of cases)
  test(`machine: ${c.name}`, async () => {
    const asked: string[] = []
    const said: string[] = []
    const present = new Set(c.present)
    await prepareMachine({
      isLinux: true,
      isRoot: c.isRoot ?? true,
      mayInstall: c.mayInstall ?? true,
      has: (program) => present.has(program),
      apt: (args) => {
        const from = args.findIndex((arg) => /^(update|--(no-)?download)/.test(arg))
        asked.push(args.slice(from).join(' '))
        if (args.includes(c.fails ?? 'none')) return Promise.resolve('no such package')
        if (args.includes('--no-download')) for (const one of ALL) present.add(one)
        return Promise.resolve(undefined)
      },
      say: (sentence) => said.push(sentence),
    })
    assert.deepEqual(asked, c.asked)
    assert.equal(said.length, c.said.length, said.join('\n'))
    for (const [n, pattern] of c.said.entries()) assert.match(said[n] ?? '', pattern)
  })
