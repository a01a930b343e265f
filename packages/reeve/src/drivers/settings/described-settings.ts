/**
 * The settings of a driver by name: the type of the value and, in Markdown, its meaning. A setting
 * that is not in the table is rejected, and docs/reference/drivers.md lists those that are.
 */
export type ConfigFieldDocs = Readonly<Record<string, readonly [type: string, help: string]>>
