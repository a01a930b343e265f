/** Held in memory until it is whole: the token is in a header, so no link can fetch it. */
const SAVED_BYTES_MAX = 512 * 1024 * 1024

/** Hands a stream to the browser as a file to keep. */
export async function saveBytes(name: string, bytes: ReadableStream<Uint8Array>): Promise<void> {
  const parts: BlobPart[] = []
  let size = 0
  for await (const part of bytes) {
    size += part.length
    if (size > SAVED_BYTES_MAX)
      throw new Error('The file is larger than 512 MiB: download it with the CLI.')
    parts.push(part.slice())
  }
  const url = URL.createObjectURL(new Blob(parts))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
