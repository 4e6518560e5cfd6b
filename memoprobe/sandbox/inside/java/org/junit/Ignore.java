package org.junit;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Marks a test that is left out. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Ignore {
    String value() default "";
}
