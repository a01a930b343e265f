/** Downloads are buffered in memory, because a link cannot send the token header. */
const DOWNLOAD_BYTES_MAX = 512 * 1024 * 1024

/** Saves a stream as a file. */
export async function downloadStream(
  name: string,
  bytes: ReadableStream<Uint8Array>,
): Promise<void> {
  const parts: BlobPart[] = []
  let size = 0
  for await (const part of bytes) {
    size += part.length
    if (size > DOWNLOAD_BYTES_MAX)
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

/** Saves a text as a file. */
export function downloadText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
