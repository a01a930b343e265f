import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rmdir } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { RealCluster, type AllocationRow } from '../agent/real-cluster.ts'
import { SELF_SIGNED } from '../build/self-signed.ts'

/** A request that a task or a check made to the test. */
export interface Heard {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, unknown>>
}

/** A real node that the jobs of all observations share, and a server that tasks fetch from. */
export class BlockWorld {
  readonly cluster: RealCluster
  /** The directory of the host volume `data`. */
  readonly volume: string
  /** Where tasks reach `files`, without a slash at its end. */
  readonly address: string
  /** The same over TLS, with a certificate that nobody trusts. */
  readonly secureAddress: string
  /** What the server was asked for, oldest first. */
  readonly heard: readonly Heard[]

  constructor(
    parts: Pick<BlockWorld, 'cluster' | 'volume' | 'address' | 'secureAddress' | 'heard'>,
  ) {
    this.cluster = parts.cluster
    this.volume = parts.volume
    this.address = parts.address
    this.secureAddress = parts.secureAddress
    this.heard = parts.heard
  }

  static async open(t: TestContext): Promise<BlockWorld> {
    const volume = await mkdtemp(join(tmpdir(), 'reeve-volume-'))
    // A mount of its own that passes on what is mounted below it.
    run('mount', '-t', 'tmpfs', '-o', 'mode=0777', 'tmpfs', volume)
    run('mount', '--make-shared', volume)
    const heard: Heard[] = []
    const answer: RequestListener = ({ method = '', url = '', headers }, response) => {
      heard.push({ method, path: url, headers })
      const text = FILES[url.replace(/\?.*/, '')]
      response.writeHead(text === undefined ? 404 : 200).end(text)
    }
    const port = await listen(t, createServer(answer))
    const securePort = await listen(t, createSecureServer(SELF_SIGNED, answer))
    const settings = `client {
      artifact { allow_local = true }
      host_volume "data" { path = "${volume}" }
    }`
    const cluster = await RealCluster.open(t, settings)
    // After the cluster, whose tasks use it.
    t.after(async () => {
      spawnSync('umount', ['--recursive', volume])
      await rmdir(volume)
    })
    const world = new BlockWorld({
      cluster,
      volume,
      address: `http://127.0.0.1:${port}`,
      secureAddress: `https://127.0.0.1:${securePort}`,
      heard,
    })
    await world.put('/v1/var/service/jobs/follows', { Items: { word: 'one' } })
    return world
  }

  /** Registers a job file and answers with the id of its job. */
  async run(source: string): Promise<string> {
    const job = await this.post('/v1/jobs/parse', { JobHCL: source })
    await this.post('/v1/jobs', { Job: job })
    return String(Reflect.get(job, 'ID'))
  }

  /** Ends a job and waits until nothing of it runs. */
  async stop(jobId: string): Promise<void> {
    const response = await fetch(`${this.cluster.address}/v1/job/${jobId}`, { method: 'DELETE' })
    assert.equal(response.status, 200, await response.text())
    await this.cluster.allocations(jobId, `${jobId} to end`, (rows) =>
      rows.every(({ ClientStatus }) => ClientStatus === 'complete' || ClientStatus === 'failed'),
    )
  }

  async post(path: string, body: unknown): Promise<object> {
    return this.#send('POST', path, body)
  }

  async put(path: string, body: unknown): Promise<object> {
    return this.#send('PUT', path, body)
  }

  async get(path: string): Promise<unknown> {
    const response = await fetch(`${this.cluster.address}${path}`)
    assert.equal(response.status, 200, path)
    return await response.json()
  }

  /** What a task of a batch job said that has ended well. */
  async output(jobId: string, task = 'main'): Promise<string> {
    const { ID } = await this.cluster.allocation(jobId, 'complete')
    return this.cluster.log(ID, task)
  }

  /** The kernel's view of a task that runs, such as `status` or `mountinfo`. */
  async proc({ ID }: AllocationRow, file: string): Promise<string> {
    return readFile(`/proc/${this.#recordOf(ID).taskPid}/${file}`, 'utf8')
  }

  #recordOf(allocationId: string) {
    const record = this.cluster.records().find(({ id }) => id.startsWith(allocationId))
    assert.ok(record, 'the task has a record')
    return record
  }

  async #send(method: string, path: string, body: unknown): Promise<object> {
    const response = await fetch(`${this.cluster.address}${path}`, {
      method,
      body: JSON.stringify(body),
    })
    const text = await response.text()
    assert.equal(response.status, 200, `${path}: ${text}`)
    const answer: object = JSON.parse(text)
    return answer
  }
}

/** What tasks of observations fetch. */
const FILES: Readonly<Record<string, string>> = {
  '/plain.txt': 'plain',
  '/secure.txt': 'secure',
  '/page.tpl': 'rendered from a file for {{ env "REEVE_TASK_NAME" }}',
  '/health': 'well',
}

async function listen(t: TestContext, server: Server | SecureServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  return address.port
}

function run(command: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  assert.equal(status, 0, `${command}: ${stderr}`)
}
