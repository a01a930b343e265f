import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createClient, type Client } from '@reeve/sdk'
import { aGovernanceServer, type GovernanceServer } from '../api/v2/harness.ts'
import { atEnd } from '../build/at-end.ts'
import { commandLineAt, type CommandLineBench } from '../build/cli.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'

/** What `reeve import` answers with `--json`. */
export interface Report {
  readonly Applied: boolean
  readonly Actions: readonly { Kind: string; Name: string; Action: string; Error: string }[]
  readonly Unchanged: readonly { Kind: string; Name: string }[]
  readonly Differences: readonly { Kind: string; Name: string; Field: string }[]
  readonly NotCarriedOver: readonly { Kind: string; Name: string; Field: string; Reason: string }[]
  readonly Secrets: readonly { Kind: string; Name: string }[]
}

/** An installation that listens, with a command line that holds its management token. */
export interface Installation {
  readonly it: GovernanceServer
  readonly address: string
  readonly client: Client
  readonly commands: CommandLineBench
  /** Imports another installation into this one. */
  importFrom(
    source: Pick<Installation, 'address' | 'token'>,
    what: 'workload' | 'governance',
    flags?: readonly string[],
  ): Promise<{ readonly code: number | null; readonly report: Report }>
  /** Runs a command of a page, and gives its exit code. */
  runFrom(source: Pick<Installation, 'address' | 'token'>, line: string): Promise<number | null>
  readonly token: string
}

/** The commands in the `sh` blocks of a page. */
export async function pageCommands(name: string): Promise<readonly string[]> {
  const file = join(import.meta.dirname, '../../../../docs/how-to', name)
  const blocks = (await readFile(file, 'utf8')).matchAll(/^```sh\n(.*?)^```$/gms)
  return [...blocks].flatMap(([, block = '']) => block.trim().split('\n'))
}

export async function anInstallation(t: TestContext): Promise<Installation> {
  const it = await aGovernanceServer()
  const address = await it.server.listen()
  atEnd(t, () => it.server.close())
  const { root: token } = it
  const client = createClient({ address, token, headers: { authorization: `Bearer ${token}` } })
  const directory = await temporaryDirectory(t)
  const commands = commandLineAt({ address, client, directory })
  return {
    it,
    address,
    client,
    commands,
    token,
    async runFrom(source, line) {
      const words = line
        .replace(/^reeve /, '')
        .replace('"$SOURCE"', source.address)
        .replace('"$SOURCE_TOKEN"', source.token)
      const { code, err } = await commands.run(`${words} --token ${token}`)
      assert.equal(err, '')
      return code
    },
    async importFrom(source, what, flags = []) {
      const from = ['--from', source.address, '--from-token', source.token]
      const line = ['import', what, ...from, '--token', token, '--json', ...flags]
      const { code, out, err } = await commands.run(line)
      assert.equal(err, '')
      // The shape is what the tests are about.
      return { code, report: JSON.parse(out) as Report }
    },
  }
}
