/** How several findings are told as one text. Clients match on these texts. */

/**
 * The text of several errors; empty when there are none. A message that is such a text itself stays
 * as it is.
 */
export function multiErrorText(messages: readonly string[]): string {
  if (messages.length === 0) return ''
  const head = messages.length === 1 ? '1 error occurred:' : `${messages.length} errors occurred:`
  return `${head}${messages.map((message) => `\n\t* ${message}`).join('')}\n\n`
}

/**
 * The `Warnings` of register, plan and validate: empty when there are none, no newline at the end.
 */
export function warningsText(warnings: readonly string[]): string {
  if (warnings.length === 0) return ''
  const head = warnings.length === 1 ? '1 warning:' : `${warnings.length} warnings:`
  return `${head}\n\n${warnings.map((warning) => `* ${warning}`).join('\n')}`
}
