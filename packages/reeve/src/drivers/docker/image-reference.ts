import { Fault } from '@reeve/kit/fault.ts'

/** A parsed image name: `registry.example:5000/team/app:1.2@sha256:…`. */
export interface ImageReference {
  /** Name without tag and digest. */
  readonly repository: string
  /** `latest` if neither tag nor digest is given; empty if only a digest is. */
  readonly tag: string
  readonly digest: string
  /** Host of the registry: `docker.io` if the name has none. */
  readonly registry: string
}

const DEFAULT_REGISTRY = 'docker.io'
const NAME_LENGTH_MAX = 512

const REPOSITORY =
  /^(?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::\d{1,5})?\/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/
const DIGEST = /^sha(256:[0-9a-f]{64}|512:[0-9a-f]{128})$/

/** Parses an image name. Fault `task-config` if it is invalid. */
export function parseImageReference(image: string): ImageReference {
  const invalidFault = new Fault(
    'task-config',
    `image ${JSON.stringify(image)} is not a name of an image`,
  )
  if (image.length > NAME_LENGTH_MAX) throw invalidFault
  const [name = '', digest = '', ...extraParts] = image.replace(/^https?:\/\//, '').split('@')
  const colon = name.lastIndexOf(':')
  const hasTag = colon > name.lastIndexOf('/')
  const repository = hasTag ? name.slice(0, colon) : name
  const tag = hasTag ? name.slice(colon + 1) : ''
  if (extraParts.length > 0 || !REPOSITORY.test(repository)) throw invalidFault
  if ((hasTag && !TAG.test(tag)) || (image.includes('@') && !DIGEST.test(digest)))
    throw invalidFault
  return {
    repository,
    tag: tag === '' && digest === '' ? 'latest' : tag,
    digest,
    registry: registryOf(repository),
  }
}

function registryOf(repository: string): string {
  const [first = '', ...rest] = repository.split('/')
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  return isHost ? first : DEFAULT_REGISTRY
}

/** Returns the name in the format of the Engine API. */
export function canonicalImageName({ repository, tag, digest }: ImageReference): string {
  return digest === '' ? `${repository}:${tag}` : `${repository}@${digest}`
}
