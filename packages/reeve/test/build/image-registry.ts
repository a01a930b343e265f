import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

const MANIFEST_TYPE = 'application/vnd.docker.distribution.manifest.v2+json'

const digestOf = (bytes: Buffer): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** What an image says of its containers, in the engine's words: `Env`, `StopSignal`. */
export type ImageConfig = Readonly<Record<string, unknown>>

/** A registry on loopback that has one layer for all its images. To be closed by the test. */
export class ImageRegistry {
  /** `name:password`; undefined: anybody may pull. */
  login: string | undefined
  /** Until when the pull of an image stands still, by its name. */
  readonly held = new Map<string, Promise<void>>()
  readonly #server: Server
  readonly #tar: Buffer
  readonly #layer: Buffer
  readonly #blobs = new Map<string, Buffer>()
  readonly #manifests = new Map<string, Buffer>()

  static async open(rootDir: string): Promise<ImageRegistry> {
    const options = { maxBuffer: 64 * 1024 * 1024 }
    const tar = execFileSync('tar', ['-C', rootDir, '-cf', '-', '.'], options)
    const registry = new ImageRegistry(tar)
    registry.#server.listen(0, '127.0.0.1')
    await new Promise<void>((resolve) => registry.#server.once('listening', resolve))
    return registry
  }

  private constructor(tar: Buffer) {
    this.#tar = tar
    this.#layer = gzipSync(tar, { level: 1 })
    this.#blobs.set(digestOf(this.#layer), this.#layer)
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  get address(): string {
    // A server that listens on TCP has an address with a port.
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** Offers an image; the name by which it is pulled. */
  add(name: string, config: ImageConfig): string {
    const body = this.#configOf(config)
    this.#blobs.set(digestOf(body), body)
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: {
        mediaType: 'application/vnd.docker.container.image.v1+json',
        size: body.length,
        digest: digestOf(body),
      },
      layers: [
        {
          mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
          size: this.#layer.length,
          digest: digestOf(this.#layer),
        },
      ],
    }
    this.#manifests.set(name, Buffer.from(JSON.stringify(manifest)))
    return `${this.address}/${name}:1`
  }

  /** The files of an archive that `load` reads. */
  archive(tag: string, config: ImageConfig): Readonly<Record<string, Buffer>> {
    const manifest = [{ Config: 'config.json', RepoTags: [tag], Layers: ['layer.tar'] }]
    return {
      'manifest.json': Buffer.from(JSON.stringify(manifest)),
      'config.json': this.#configOf(config),
      'layer.tar': this.#tar,
    }
  }

  #configOf(config: ImageConfig): Buffer {
    const rootfs = { type: 'layers', diff_ids: [digestOf(this.#tar)] }
    const history = [{ created: '2026-01-01T00:00:00Z', created_by: 'a test' }]
    const machine = { architecture: 'amd64', os: 'linux', created: '2026-01-01T00:00:00Z' }
    return Buffer.from(JSON.stringify({ ...machine, config, rootfs, history }))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const wanted = this.login === undefined ? undefined : btoa(this.login)
    if (wanted !== undefined && request.headers.authorization !== `Basic ${wanted}`) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="test"' }).end('{}')
      return
    }
    const [, name = '', kind = '', reference = ''] =
      /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(request.url ?? '') ?? []
    if (kind === '') return void response.writeHead(200).end('{}')
    const body = kind === 'manifests' ? this.#manifests.get(name) : this.#blobs.get(reference)
    if (body === undefined) return void response.writeHead(404).end('{"errors":[]}')
    if (kind === 'blobs' && body !== this.#layer) await this.held.get(name)
    response.writeHead(200, {
      'Content-Type': kind === 'manifests' ? MANIFEST_TYPE : 'application/octet-stream',
      'Content-Length': body.length,
      'Docker-Content-Digest': digestOf(body),
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}
