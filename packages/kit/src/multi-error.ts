/** Formats of several errors or warnings in one text. Clients match on these texts. */

/** Joins errors into one text; empty if there are none. Nested multi-errors are kept unchanged. */
export function formatMultiError(messages: readonly string[]): string {
  if (messages.length === 0) return ''
  const head = messages.length === 1 ? '1 error occurred:' : `${messages.length} errors occurred:`
  return `${head}${messages.map((message) => `\n\t* ${message}`).join('')}\n\n`
}

/**
 * The `Warnings` field of register, plan and validate responses: empty if there are none, without a
 * trailing newline.
 */
export function formatWarnings(warnings: readonly string[]): string {
  if (warnings.length === 0) return ''
  const head = warnings.length === 1 ? '1 warning:' : `${warnings.length} warnings:`
  return `${head}\n\n${warnings.map((warning) => `* ${warning}`).join('\n')}`
}
