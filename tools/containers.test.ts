import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setUpContainers } from './setup/containers.mjs'

interface Case {
  readonly name: string
  readonly present?: readonly string[]
  readonly canInstall?: boolean
  readonly wasTried?: boolean
  /** The step of apt-get that fails, by a word of its arguments. */
  readonly fails?: string
  readonly asked: readonly string[]
  readonly said: readonly RegExp[]
  readonly notes?: boolean
}

const ALL = ['podman', 'runc', 'busybox']
const cases: readonly Case[] = [
  { name: 'nothing is done where everything is there', present: ALL, asked: [], said: [] },
  { name: 'nothing is done where it cannot be', canInstall: false, asked: [], said: [] },
  { name: 'a failure is not asked for again', wasTried: true, asked: [], said: [] },
  {
    name: 'only what is missing is installed',
    present: ['runc', 'busybox'],
    asked: ['update', '--download-only podman', '--no-download podman'],
    said: [/^Installing podman for/],
  },
  {
    name: 'a package that cannot be had is one sentence, and noted',
    fails: '--download-only',
    asked: ['update', '--download-only podman runc busybox-static'],
    said: [/^Installing/, /^The docker driver is not tested .*\(no such package\)\.$/],
    notes: true,
  },
]

for (const c of cases) {
  test(`containers: ${c.name}`, async () => {
    const asked: string[] = []
    const said: string[] = []
    let isNoted = false
    await setUpContainers('/nowhere', {
      has: (program: string) => (c.present ?? []).includes(program),
      canInstall: () => c.canInstall ?? true,
      wasTried: () => c.wasTried ?? false,
      noteTried: () => (isNoted = true),
      apt: (args: readonly string[]) => {
        const from = args.findIndex((arg) =>
          ['update', '--download-only', '--no-download'].includes(arg),
        )
        asked.push(args.slice(from).join(' '))
        return Promise.resolve(args.includes(c.fails ?? 'none') ? 'no such package' : undefined)
      },
      say: (sentence: string) => said.push(sentence),
    })
    assert.deepEqual(asked, c.asked)
    assert.equal(said.length, c.said.length)
    for (const [n, pattern] of c.said.entries()) assert.match(said[n] ?? '', pattern)
    assert.equal(isNoted, c.notes ?? false)
  })
}
