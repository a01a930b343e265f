import type { NodeServers } from '../http/index.ts'
import { formatAddress, HTTP_PORT, parseAddress } from './config/address.ts'

interface ServerDialing {
  readonly usesTls: boolean
  canDial(url: string): Promise<boolean>
}

/** The servers that a node connects to. A request can replace them until the agent restarts. */
export class DialedServers implements NodeServers {
  readonly #dialling: ServerDialing
  #urls: readonly string[]

  constructor(urls: readonly string[], dialling: ServerDialing) {
    this.#urls = urls
    this.#dialling = dialling
  }

  get urls(): readonly string[] {
    return this.#urls
  }

  list(): readonly string[] {
    // Not `URL.host`, which omits the default ports 80 and 443.
    return this.#urls.map((url) => url.slice(url.indexOf('://') + '://'.length))
  }

  /**
   * Rejects addresses with a scheme, as the configuration does: `http://` would make a node send
   * its secret without TLS.
   */
  async set(addresses: readonly string[]): Promise<string | undefined> {
    const urls: string[] = []
    for (const address of addresses) {
      const parsed = parseAddress(address)
      if (parsed === undefined) return invalidAddress(address)
      const { host, port = HTTP_PORT } = parsed
      urls.push(serverUrl(formatAddress(host, port), this.#dialling.usesTls))
    }
    const answers = await Promise.all(urls.map((url) => this.#dialling.canDial(url)))
    if (!answers.includes(true))
      return `none of these servers can be reached: ${addresses.join(', ')}`
    this.#urls = urls
    return undefined
  }
}

function invalidAddress(address: string): string {
  return `invalid server address ${JSON.stringify(address)}: use host:port without a scheme`
}

/** `address` is `host:port`. */
export function serverUrl(address: string, usesTls: boolean): string {
  return `${usesTls ? 'https' : 'http'}://${address}`
}
